/**
 * The tag of every SQL statement that is longer than one line. It returns the statement's text, without the indentation that all of its
 * lines share, so that the database's logs and query plans show the statement as the source does.
 * A fragment is SQL text that this project wrote: a list of columns, a condition, a limit. A value is never a fragment: statements refer
 * to values as parameters ($1, $2, ...), and the caller passes the values beside the text.
 */

/** Joins the text and its fragments. The text of a fragment is not changed. */
export function sql(parts: TemplateStringsArray, ...fragments: readonly (string | number)[]): string {
  const indentation = findCommonIndentation(parts)
  const dedented = parts.map((part) => part.replaceAll(`\n${indentation}`, '\n'))
  return String.raw({ raw: dedented }, ...fragments).trim()
}

/** The shortest indentation of a line that has text or a fragment. Text on the line of the opening backtick does not count. */
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
