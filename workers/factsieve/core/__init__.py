"""Pure decisions: no IO, no clock, no asyncio. Everything that varies comes in as an argument."""
