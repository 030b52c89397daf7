"""What the stock nbgrader commands load: configuration, the repair step and the step that asks the judge."""
