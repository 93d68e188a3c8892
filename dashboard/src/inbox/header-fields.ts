/** The header of a mail as text, as fields in their order: unfolded, otherwise as they were sent. */
export function parseHeaderFields(header: string): readonly { readonly name: string; readonly value: string }[] {
  return header
    .replace(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':')
      return colon === -1
        ? { name: '', value: line }
        : { name: line.slice(0, colon).trimEnd(), value: line.slice(colon + 1).trim() }
    })
}
