/** A Markdown table, for reference pages that are generated from tables in the code. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = `|${head.map(() => '---|').join('')}`
  return [formatRow(head), rule, ...rows.map(formatRow)].join('\n')
}

/** A line break or an unescaped `|` would end the cell. */
function formatRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

/** `text` as inline code; an empty text stays empty. */
export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
