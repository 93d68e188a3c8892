/**
 * CSS of `<style>` into `style` attributes, for the mail programs that read no style sheets. Only `style` attributes are written; every
 * other byte stays, and so does the `<style>` itself: media queries, `:hover`, and classes that an expression makes need it. Nothing is
 * fetched. juice computes, on a copy in which expressions are letters; the result is put into the source by offset, so no expression
 * can get lost. What an expression makes conditional is not touched: a sheet or an attribute with blocks in it, a tag with an
 * expression between its attributes, all of a template whose blocks open elements that they do not close.
 */
import juice from 'juice'
import { isBalanced } from './block-balance.ts'
import { createPlaceholders, type Edit, type Placeholders, write } from './text-edits.ts'
import { type Expression, findExpressions, MASK, maskExpressions } from './expressions.ts'
import { TemplateError } from './helpers.ts'
import { type Attribute, type Range, readTags, type Tag } from './tags.ts'

/** An attribute that tells the tags of the copy. */
const MARK = 'data-inline-place'
const OPTIONS = {
  applyAttributesTableElements: false,
  applyWidthAttributes: false,
  applyHeightAttributes: false,
  inlinePseudoElements: false,
  resolveCSSVariables: true,
}
const USUAL = ['hover', 'active', 'focus', 'visited', 'link']
/** What they select depends on how often a block is repeated. */
const COUNTING = [
  'first-child',
  'last-child',
  'only-child',
  'nth-child',
  'nth-last-child',
  'first-of-type',
  'last-of-type',
  'only-of-type',
  'nth-of-type',
  'nth-last-of-type',
  'empty',
]
/** A selector by what stands before an element, which a block may bring or not. */
const NEIGHBOURS = /(?:^|[{};,])[^{};]*[+~][^{};]*\{/
const SHEET = /<style[\s>]/i
const EVERYWHERE = /^\s*(?:all|screen)?\s*$/i

/** False where it depends on variables what surrounds an element. True without style sheets. */
export function mayBeInlined(html: string): boolean {
  if (!SHEET.test(html)) return true
  const expressions = findExpressions(html)
  return isBalanced(readTags(maskExpressions(html, expressions)), expressions)
}

/** @throws TemplateError for CSS that cannot be read. */
export function inlineCss(html: string): string {
  if (!SHEET.test(html)) return html
  const expressions = findExpressions(html)
  const masked = maskExpressions(html, expressions)
  const { tags, ends, sheets } = readTags(masked)
  if (!isBalanced({ tags, ends }, expressions)) return html
  const placeholders = createPlaceholders(html)
  const css = sheets
    .filter((sheet) => isPlain(masked, sheet, expressions))
    .map((sheet) => sheetText(html, sheet, expressions, placeholders))
  juice.ignoredPseudos = expressions.some(({ kind }) => kind === 'open') ? [...USUAL, ...COUNTING] : USUAL
  const judged = tags.map((tag) => judge(tag, expressions))
  const { places, styles } = computeStyles(masked, judged, css.join('\n'))
  return write(
    html,
    places.flatMap((place, i) => editOf(html, place, placeholders.restore(styles.get(i) ?? ''))),
  )
}

interface Computed {
  readonly places: readonly Place[]
  /** By the number of the place. */
  readonly styles: ReadonlyMap<number, string>
}

/** Where a style of an element is nothing that juice can read, all of these stay as they are, behind what the sheets say. */
function computeStyles(masked: string, places: readonly Place[], css: string): Computed {
  const kept = places.map((place) => ({ ...place, isStyleKept: place.style !== undefined }))
  const first = compute(copyOf(masked, places), css)
  if (typeof first === 'string') return { places, styles: stylesOf(first) }
  const second = compute(copyOf(masked, kept), css)
  if (typeof second === 'string') return { places: kept, styles: stylesOf(second) }
  throw new TemplateError(`its CSS cannot be read: ${second.message}`)
}

function compute(html: string, css: string): string | Error {
  try {
    return juice.inlineContent(html, css, OPTIONS)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

interface Place {
  readonly tag: Tag
  readonly style: Attribute | undefined
  /** It has an expression between its attributes. */
  readonly isDynamic: boolean
  /** Its style has expressions: it stays as it is, with what the sheets say before it. */
  readonly isStyleKept: boolean
  /** What is there or not: no selector may see it. */
  readonly conditional: readonly Range[]
}

function judge(tag: Tag, expressions: readonly Expression[]): Place {
  const inTag = within(expressions, tag)
  const style = tag.attributes.find(({ name }) => name === 'style')
  const isIn = ({ start, end }: Range, { quote, start: from, end: to }: Attribute): boolean =>
    quote !== '' && start >= from && end <= to
  const isDynamic = inTag.some((expression) => !tag.attributes.some((attribute) => isIn(expression, attribute)))
  const conditional = tag.attributes.flatMap((attribute) => {
    const blocks = inTag.filter((expression) => !isValue(expression) && isIn(expression, attribute))
    const [first, last] = [blocks[0], blocks.at(-1)]
    return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end }]
  })
  const isStyleKept = style !== undefined && inTag.some((expression) => isIn(expression, style))
  return { tag, style, isDynamic, isStyleKept, conditional }
}

function isValue({ kind }: Expression): boolean {
  return kind === 'value' || kind === 'raw-value'
}

/** Whether all of a sheet holds whenever the mail is rendered, for every screen. */
function isPlain(
  masked: string,
  { tag, start, end }: Range & { readonly tag: Tag },
  expressions: readonly Expression[],
): boolean {
  const media = tag.attributes.find(({ name }) => name === 'media')
  if (media !== undefined && !EVERYWHERE.test(masked.slice(media.start, media.end))) return false
  if (within(expressions, { start, end }).some(({ kind }) => kind !== 'value' && kind !== 'comment')) return false
  if (NEIGHBOURS.test(masked.slice(start, end)) && expressions.some(({ kind }) => kind === 'open')) return false
  const before = expressions.filter((expression) => expression.end <= tag.start)
  return within(expressions, tag).length === 0 && count(before, 'open') === count(before, 'close')
}

function count(expressions: readonly Expression[], kind: Expression['kind']): number {
  return expressions.filter((expression) => expression.kind === kind).length
}

/** By bisection: `expressions` are in order and apart. */
function within<T extends Range>(expressions: readonly T[], { start, end }: Range): T[] {
  let [low, high] = [0, expressions.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((expressions[middle]?.start ?? 0) < start) low = middle + 1
    else high = middle
  }
  const found: T[] = []
  for (let i = low; i < expressions.length; i++) {
    const expression = expressions[i]
    if (expression === undefined || expression.end > end) break
    found.push(expression)
  }
  return found
}

/** The text of a sheet with names in place of its expressions. */
function sheetText(
  html: string,
  { start, end }: Range,
  expressions: readonly Expression[],
  placeholders: Placeholders,
): string {
  const edits = within(expressions, { start, end }).map(({ kind, start: from, end: to }) => ({
    start: from - start,
    end: to - start,
    text: kind === 'comment' ? '' : placeholders.keep(html.slice(from, to)),
  }))
  return write(html.slice(start, end), edits)
}

/** The copy that juice reads: tags are marked, styles that must stay and what is conditional are out of its sight. */
function copyOf(masked: string, places: readonly Place[]): string {
  return write(
    masked,
    places.flatMap(({ tag, style, isDynamic, isStyleKept, conditional }, i) => [
      ...(isDynamic ? [] : [{ start: tag.nameEnd, end: tag.nameEnd, text: ` ${MARK}="${i}"` }]),
      ...[
        ...(isStyleKept && style !== undefined
          ? [{ start: style.nameStart, end: style.nameStart + style.name.length, text: MASK.repeat(5) }]
          : []),
        ...conditional.map(({ start, end }) => ({ start, end, text: MASK.repeat(end - start) })),
      ].toSorted((a, b) => a.start - b.start),
    ]),
  )
}

/** By the number of the mark. */
function stylesOf(juiced: string): Map<number, string> {
  const styles = new Map<number, string>()
  for (const { attributes } of readTags(juiced).tags) {
    const valueOf = (wanted: string): string | undefined => {
      const attribute = attributes.find(({ name }) => name === wanted)
      return attribute === undefined ? undefined : juiced.slice(attribute.start, attribute.end)
    }
    const [mark, style] = [valueOf(MARK), valueOf('style')]
    if (mark !== undefined && style !== undefined) styles.set(Number(mark), style)
  }
  return styles
}

function editOf(html: string, { tag, style, isDynamic, isStyleKept }: Place, computed: string): Edit[] {
  if (isDynamic || computed === '') return []
  if (style === undefined) return [{ start: tag.nameEnd, end: tag.nameEnd, text: ` style="${computed}"` }]
  const quoted = style.quote === "'" ? computed.replaceAll("'", '&#39;') : computed
  if (isStyleKept && style.quote !== '') return [{ start: style.start, end: style.start, text: `${quoted} ` }]
  if (isStyleKept)
    return [
      { start: style.nameStart, end: style.after, text: `style="${computed} ${html.slice(style.start, style.end)}"` },
    ]
  const isSame = html.slice(style.start, style.end) === computed
  return isSame ? [] : [{ start: style.nameStart, end: style.after, text: `style="${computed}"` }]
}
