/**
 * Sentences of the server in another language, by their code: of errors, of checks of DNS records, and of `explain`. In
 * English the server's own sentence is shown; so is one whose code has no text here.
 */
export type ServerTexts = Readonly<Record<string, string>>

export const server: ServerTexts = {}
