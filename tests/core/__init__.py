"""Rules as tables and properties: values in, values out."""
