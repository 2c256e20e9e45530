"""scikit-learn style estimators."""
