"""Requests that are signed, for providers that take no plain key. Each needs an extra, imported with the first request.

aws_signature  Amazon's signatures, for Bedrock
google_token   Google's access tokens, for Vertex AI
"""
