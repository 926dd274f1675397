"""What participants keep on disk: keys, studies, tables, contributions, releases, ledgers, logs."""
