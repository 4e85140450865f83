"""The dashboard: pages rendered on the server, kept live by a few ES modules in static/.

The modules render nothing themselves. When something has changed they fetch the page again and replace its parts, so
that all texts and all escaping are in one place: the templates.
"""
