"""What a typed text names, beside its words.

image_paths  images, as they are typed, dropped or pasted
"""
