"""What make uses to look after the dependencies."""
