/**
 * The template tag of every SQL statement longer than one line. It returns the text without the indentation that all
 * lines share, so that the logs and query plans of PostgreSQL show the statement as the source does.
 * A fragment is SQL of this project: a list of columns, a condition, a limit. A value is never a fragment: statements
 * use parameters ($1, $2, ...), and the caller passes the values beside the text.
 */

/** Joins the text and its fragments. The text of a fragment is not changed. */
export function sql(parts: TemplateStringsArray, ...fragments: readonly (string | number)[]): string {
  const indentation = findCommonIndentation(parts)
  const dedented = parts.map((part) => part.replaceAll(`\n${indentation}`, '\n'))
  return String.raw({ raw: dedented }, ...fragments).trim()
}

/** The shortest indentation of a line with text or a fragment, except the line of the opening backtick. */
function findCommonIndentation(parts: readonly string[]): string {
  const last = parts.length - 1
  const indentations = parts.flatMap((part, i) =>
    [...part.matchAll(i === last ? /\n( *)(?=[^ \n])/g : /\n( *)(?=[^ \n]|$)/g)].map(([, spaces = '']) => spaces),
  )
  return indentations.reduce(
    (shortest, spaces) => (spaces.length < shortest.length ? spaces : shortest),
    ' '.repeat(120),
  )
}
