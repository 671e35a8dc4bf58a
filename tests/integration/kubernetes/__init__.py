"""What kubernetes_test.py needs: manifests built, checked, and run by hand."""
