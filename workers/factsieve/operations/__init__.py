"""What operators do, whether they come by command line or by HTTP: reading the log, giving orders, previews."""
