/**
 * Checks that every block of a template contains complete HTML elements. If a block opens an element that another block
 * closes (`{{#if a}}<div class="x">{{/if}}`), the ancestors of the remaining elements are known only when the message
 * is rendered, so CSS cannot be inlined.
 */
import type { Expression } from './expressions.ts'
import type { ParsedTags } from './html-tags.ts'

const VOID_ELEMENTS: ReadonlySet<string> = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
])
/** Elements whose end tags authors often omit. */
const OPTIONAL_END_TAGS: ReadonlySet<string> = new Set([
  'p',
  'li',
  'dt',
  'dd',
  'td',
  'th',
  'tr',
  'thead',
  'tbody',
  'tfoot',
  'option',
  'colgroup',
])

interface MarkupToken {
  readonly at: number
  readonly kind: 'tag' | 'end' | Expression['kind']
  readonly name: string
}

/** Marks an open Handlebars block in the stack of open elements. */
const BLOCK_MARKER = '{{'

export function isBalanced(
  { tags, endTags }: Pick<ParsedTags, 'tags' | 'endTags'>,
  expressions: readonly Expression[],
): boolean {
  const tokens: MarkupToken[] = [
    ...tags
      .filter(({ name, isSelfClosing }) => !isSelfClosing && !VOID_ELEMENTS.has(name))
      .map(({ name, start }) => ({ at: start, kind: 'tag' as const, name })),
    ...endTags.map(({ name, start }) => ({ at: start, kind: 'end' as const, name })),
    ...expressions
      .filter(({ start }) => !tags.some((tag) => start > tag.start && start < tag.end))
      .map(({ start, kind }) => ({ at: start, kind, name: BLOCK_MARKER })),
  ].toSorted((a, b) => a.at - b.at)
  const open: string[] = []
  return tokens.every((token) => acceptToken(open, token))
}

/** Returns false if the token closes something that the current block did not open. */
function acceptToken(open: string[], { kind, name }: MarkupToken): boolean {
  if (kind === 'tag' || kind === 'open') {
    open.push(name)
    return true
  }
  if (kind !== 'end' && kind !== 'else' && kind !== 'close') return true
  while (open.length > 0 && OPTIONAL_END_TAGS.has(open.at(-1) ?? '') && open.at(-1) !== name) open.pop()
  // outside any block the HTML parser of the mail program repairs the markup
  if (open.at(-1) !== name) return kind === 'end' && (OPTIONAL_END_TAGS.has(name) || !open.includes(BLOCK_MARKER))
  if (kind !== 'else') open.pop()
  return true
}
