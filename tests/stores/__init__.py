"""The stores themselves, beyond their common promises."""
