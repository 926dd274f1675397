"""What parties compute together: the interface of a job, and training, the first one."""
