"""Stylesheets, icons, JavaScript and the guide, all served from here."""
