"""The production process: settings, Faust app, safe consumer, health."""
