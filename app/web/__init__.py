"""The dashboard: pages rendered here, made live by a few ES modules in static/.

The modules never draw a debate themselves. When something has changed they fetch the same page again and take its parts
over, so that every word and every escape is made in one place: the templates.
"""
