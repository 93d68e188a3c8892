/** Text of a search as a regular expression of PostgreSQL. Every character that could be an operator is quoted. */

/** A case-insensitive pattern. PostgreSQL's own case folding depends on its locale, and C folds only ASCII. */
export function caseInsensitivePattern(text: string): string {
  const literal = (letters: string): string => letters.replace(/[^\p{L}\p{N}]/gu, String.raw`\$&`)
  return Array.from(text, (letter) => {
    const forms = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])].map(literal)
    return forms.length === 1 ? forms[0] : `(?:${forms.join('|')})`
  }).join('')
}
