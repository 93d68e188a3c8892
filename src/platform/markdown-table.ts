/** A table in Markdown, for reference pages that are made from tables in code. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = `|${head.map(() => '---|').join('')}`
  return [formatRow(head), rule, ...rows.map(formatRow)].join('\n')
}

/** A line break or an unescaped bar would end the cell. */
function formatRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

/** `text` as code; nothing for an empty text. */
export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
