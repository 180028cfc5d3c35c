"""The demo: a rehearsed team moves a small application from REST to GraphQL. Only what models say is rehearsed.

script    who says what when: START READING HERE
parts     how a part is played, as a function of the conversation
pacing    words at the speed at which people read
library/  the application: as it is (`rest`), half-way (`both`), as it will be (`graphql`); each file ends with .txt

`app.rehearsing` above gives the team a folder, tools and a user.
"""
