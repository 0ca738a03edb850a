"""The commands that keep the log whole: `backup` copies and restores it, `verification` checks it."""
