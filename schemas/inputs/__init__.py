"""TODO schemas/inputs."""
