/** The template tag `html` of pages: it escapes every value except markup that is known to be safe. */
import { escapeHtml } from '#src/mail/html-escape.ts'

/** HTML that is inserted without escaping. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type HtmlValue = string | Markup | null | readonly Markup[]

/** Escapes every value except Markup. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Markup {
  return new Markup(texts.map((text, i) => (i === 0 ? text : renderValue(values[i - 1] ?? null) + text)).join(''))
}

function renderValue(value: HtmlValue): string {
  if (value === null) return ''
  if (value instanceof Markup) return value.text
  return typeof value === 'string' ? escapeHtml(value) : value.map(({ text }) => text).join('')
}
