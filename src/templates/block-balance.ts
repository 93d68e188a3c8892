/**
 * Whether the blocks of a template hold whole elements. Where one opens an element that another closes (`{{#if a}}<div class="x">{{/if}}`),
 * what surrounds the rest is only known when the mail is rendered.
 */
import type { Expression } from './expressions.ts'
import type { Tags } from './tags.ts'

const VOID: ReadonlySet<string> = new Set([
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
/** Their end tags are often left out. */
const OPTIONAL: ReadonlySet<string> = new Set([
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

interface Step {
  readonly at: number
  readonly kind: 'tag' | 'end' | Expression['kind']
  readonly name: string
}

/** A block that is open, among the elements. */
const BLOCK = '{{'

export function isBalanced({ tags, ends }: Pick<Tags, 'tags' | 'ends'>, expressions: readonly Expression[]): boolean {
  const steps: Step[] = [
    ...tags
      .filter(({ name, isClosed }) => !isClosed && !VOID.has(name))
      .map(({ name, start }) => ({ at: start, kind: 'tag' as const, name })),
    ...ends.map(({ name, start }) => ({ at: start, kind: 'end' as const, name })),
    ...expressions
      .filter(({ start }) => !tags.some((tag) => start > tag.start && start < tag.end))
      .map(({ start, kind }) => ({ at: start, kind, name: BLOCK })),
  ].toSorted((a, b) => a.at - b.at)
  const open: string[] = []
  return steps.every((step) => take(open, step))
}

/** False where a step meets what it may not. */
function take(open: string[], { kind, name }: Step): boolean {
  if (kind === 'tag' || kind === 'open') {
    open.push(name)
    return true
  }
  if (kind !== 'end' && kind !== 'else' && kind !== 'close') return true
  while (open.length > 0 && OPTIONAL.has(open.at(-1) ?? '') && open.at(-1) !== name) open.pop()
  // without a block around, it is for the mail program to make sense of it
  if (open.at(-1) !== name) return kind === 'end' && (OPTIONAL.has(name) || !open.includes(BLOCK))
  if (kind !== 'else') open.pop()
  return true
}
