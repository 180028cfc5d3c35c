"""What streams are made of: records, names and the values in them.

records         numbered records, damaged lines and what may be encoded
facts           the base of every record body, one frozen class per kind
names           valid names of members, teams and streams
confusables     scripts, and letters that look like other letters
persistent_map  a map that only grows and can be kept as a value
value_copies    copies of frozen values with other fields
fingerprints    how an agent recognises that a file has changed
"""
