/** Node's messages about certificates recommend options of Node, which are not settings of Mailstead. */
export function withoutNodeOptions(text: string): string {
  return text.replace(/; if the root CA is installed locally.*$/s, '')
}
