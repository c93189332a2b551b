"""What keeps nodes where no job asks for them."""
