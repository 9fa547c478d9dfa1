"""What a review is handed on as: documents that can be read, checked and signed elsewhere."""
