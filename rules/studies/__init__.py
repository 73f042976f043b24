"""Studies of many models: their models, accuracies, figures, and the view that rules see."""
