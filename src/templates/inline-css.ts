/**
 * Copies the CSS rules of `<style>` into `style` attributes for mail programs that ignore style sheets. Only `style`
 * attributes are written. Every other byte stays, including the `<style>` element, because media queries, `:hover` and
 * dynamic class names need it. Nothing is fetched.
 *
 * juice computes the styles on a copy in which expressions are masked. The results are inserted into the original by
 * offset, so no expression is lost. Content that an expression makes conditional is skipped: a style sheet or attribute
 * with blocks in it, a tag with an expression between its attributes, and any template whose blocks contain unbalanced
 * elements.
 */
import juice from 'juice'
import { isBalanced } from './block-balance.ts'
import { createPlaceholders, type TextEdit, type Placeholders, applyEdits } from './text-edits.ts'
import { type Expression, findExpressions, MASK, maskExpressions } from './expressions.ts'
import { TemplateError } from './helpers.ts'
import { type Attribute, type SourceRange, parseTags, type Tag } from './html-tags.ts'

/** Identifies the tags of the masked copy. */
const TAG_INDEX_ATTRIBUTE = 'data-inline-place'
const JUICE_OPTIONS = {
  applyAttributesTableElements: false,
  applyWidthAttributes: false,
  applyHeightAttributes: false,
  inlinePseudoElements: false,
  resolveCSSVariables: true,
}
const STATE_PSEUDO_CLASSES = ['hover', 'active', 'focus', 'visited', 'link']
/** The elements that these match depend on how often a block repeats. */
const POSITIONAL_PSEUDO_CLASSES = [
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
/** A sibling selector; a block may or may not render the sibling. */
const SIBLING_SELECTOR = /(?:^|[{};,])[^{};]*[+~][^{};]*\{/
const STYLE_TAG = /<style[\s>]/i
const ALL_SCREENS = /^\s*(?:all|screen)?\s*$/i

/** False if the ancestors of an element depend on params. True without style sheets. */
export function canInlineCss(html: string): boolean {
  if (!STYLE_TAG.test(html)) return true
  const expressions = findExpressions(html)
  return isBalanced(parseTags(maskExpressions(html, expressions)), expressions)
}

/** @throws TemplateError if the CSS cannot be parsed. */
export function inlineCss(html: string): string {
  if (!STYLE_TAG.test(html)) return html
  const expressions = findExpressions(html)
  const masked = maskExpressions(html, expressions)
  const { tags, endTags, styleSheets } = parseTags(masked)
  if (!isBalanced({ tags, endTags }, expressions)) return html
  const placeholders = createPlaceholders(html)
  const css = styleSheets
    .filter((sheet) => isUnconditional(masked, sheet, expressions))
    .map((sheet) => sheetText(html, sheet, expressions, placeholders))
  juice.ignoredPseudos = expressions.some(({ kind }) => kind === 'open')
    ? [...STATE_PSEUDO_CLASSES, ...POSITIONAL_PSEUDO_CLASSES]
    : STATE_PSEUDO_CLASSES
  const targets = tags.map((tag) => describeTarget(tag, expressions))
  const { targets: placed, styles } = computeStyles(masked, targets, css.join('\n'))
  return applyEdits(
    html,
    placed.flatMap((target, i) => styleEdit(html, target, placeholders.restore(styles.get(i) ?? ''))),
  )
}

interface ComputedStyles {
  readonly targets: readonly StyleTarget[]
  /** By index in `targets`. */
  readonly styles: ReadonlyMap<number, string>
}

/** If juice cannot parse a `style` attribute, keep all of them unchanged after the computed styles. */
function computeStyles(masked: string, targets: readonly StyleTarget[], css: string): ComputedStyles {
  const keepingStyles = targets.map((target) => ({ ...target, keepsOwnStyle: target.style !== undefined }))
  const first = runJuice(markedCopy(masked, targets), css)
  if (typeof first === 'string') return { targets, styles: readComputedStyles(first) }
  const second = runJuice(markedCopy(masked, keepingStyles), css)
  if (typeof second === 'string') return { targets: keepingStyles, styles: readComputedStyles(second) }
  throw new TemplateError(`its CSS cannot be parsed: ${second.message}`)
}

function runJuice(html: string, css: string): string | Error {
  try {
    return juice.inlineContent(html, css, JUICE_OPTIONS)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

interface StyleTarget {
  readonly tag: Tag
  readonly style: Attribute | undefined
  /** The tag has an expression between its attributes. */
  readonly isDynamic: boolean
  /** The `style` attribute contains expressions: keep it, and insert the computed styles before it. */
  readonly keepsOwnStyle: boolean
  /** Conditional parts of attributes; hidden from all selectors. */
  readonly conditional: readonly SourceRange[]
}

function describeTarget(tag: Tag, expressions: readonly Expression[]): StyleTarget {
  const inTag = expressionsWithin(expressions, tag)
  const style = tag.attributes.find(({ name }) => name === 'style')
  const isIn = ({ start, end }: SourceRange, { quote, start: from, end: to }: Attribute): boolean =>
    quote !== '' && start >= from && end <= to
  const isDynamic = inTag.some((expression) => !tag.attributes.some((attribute) => isIn(expression, attribute)))
  const conditional = tag.attributes.flatMap((attribute) => {
    const blocks = inTag.filter((expression) => !isValue(expression) && isIn(expression, attribute))
    const [first, last] = [blocks[0], blocks.at(-1)]
    return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end }]
  })
  const keepsOwnStyle = style !== undefined && inTag.some((expression) => isIn(expression, style))
  return { tag, style, isDynamic, keepsOwnStyle, conditional }
}

function isValue({ kind }: Expression): boolean {
  return kind === 'value' || kind === 'raw-value'
}

/** Whether a style sheet applies to every rendering and every screen. */
function isUnconditional(
  masked: string,
  { tag, start, end }: SourceRange & { readonly tag: Tag },
  expressions: readonly Expression[],
): boolean {
  const media = tag.attributes.find(({ name }) => name === 'media')
  if (media !== undefined && !ALL_SCREENS.test(masked.slice(media.start, media.end))) return false
  if (expressionsWithin(expressions, { start, end }).some(({ kind }) => kind !== 'value' && kind !== 'comment'))
    return false
  if (SIBLING_SELECTOR.test(masked.slice(start, end)) && expressions.some(({ kind }) => kind === 'open')) return false
  const before = expressions.filter((expression) => expression.end <= tag.start)
  return expressionsWithin(expressions, tag).length === 0 && count(before, 'open') === count(before, 'close')
}

function count(expressions: readonly Expression[], kind: Expression['kind']): number {
  return expressions.filter((expression) => expression.kind === kind).length
}

/** Finds the expressions in a range by binary search; `expressions` are sorted and do not overlap. */
function expressionsWithin<T extends SourceRange>(expressions: readonly T[], { start, end }: SourceRange): T[] {
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

/** The style sheet with placeholders instead of its expressions. */
function sheetText(
  html: string,
  { start, end }: SourceRange,
  expressions: readonly Expression[],
  placeholders: Placeholders,
): string {
  const edits = expressionsWithin(expressions, { start, end }).map(({ kind, start: from, end: to }) => ({
    start: from - start,
    end: to - start,
    text: kind === 'comment' ? '' : placeholders.create(html.slice(from, to)),
  }))
  return applyEdits(html.slice(start, end), edits)
}

/** Builds the copy for juice: tags are marked; styles to keep and conditional parts are masked. */
function markedCopy(masked: string, targets: readonly StyleTarget[]): string {
  return applyEdits(
    masked,
    targets.flatMap(({ tag, style, isDynamic, keepsOwnStyle, conditional }, i) => [
      ...(isDynamic ? [] : [{ start: tag.nameEnd, end: tag.nameEnd, text: ` ${TAG_INDEX_ATTRIBUTE}="${i}"` }]),
      ...[
        ...(keepsOwnStyle && style !== undefined
          ? [{ start: style.nameStart, end: style.nameStart + style.name.length, text: MASK.repeat(5) }]
          : []),
        ...conditional.map(({ start, end }) => ({ start, end, text: MASK.repeat(end - start) })),
      ].toSorted((a, b) => a.start - b.start),
    ]),
  )
}

/** Reads the computed styles, by index of the marked tag. */
function readComputedStyles(juiced: string): Map<number, string> {
  const styles = new Map<number, string>()
  for (const { attributes } of parseTags(juiced).tags) {
    const valueOf = (attributeName: string): string | undefined => {
      const attribute = attributes.find(({ name }) => name === attributeName)
      return attribute === undefined ? undefined : juiced.slice(attribute.start, attribute.end)
    }
    const [index, style] = [valueOf(TAG_INDEX_ATTRIBUTE), valueOf('style')]
    if (index !== undefined && style !== undefined) styles.set(Number(index), style)
  }
  return styles
}

function styleEdit(html: string, { tag, style, isDynamic, keepsOwnStyle }: StyleTarget, computed: string): TextEdit[] {
  if (isDynamic || computed === '') return []
  if (style === undefined) return [{ start: tag.nameEnd, end: tag.nameEnd, text: ` style="${computed}"` }]
  const quoted = style.quote === "'" ? computed.replaceAll("'", '&#39;') : computed
  if (keepsOwnStyle && style.quote !== '') return [{ start: style.start, end: style.start, text: `${quoted} ` }]
  if (keepsOwnStyle)
    return [
      {
        start: style.nameStart,
        end: style.afterQuote,
        text: `style="${computed} ${html.slice(style.start, style.end)}"`,
      },
    ]
  const isSame = html.slice(style.start, style.end) === computed
  return isSame ? [] : [{ start: style.nameStart, end: style.afterQuote, text: `style="${computed}"` }]
}
