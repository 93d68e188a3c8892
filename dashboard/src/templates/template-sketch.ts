/** The rough shape of a mail, for its thumbnail: headings, texts, buttons, images and lines in order. */
import type { StoredTemplate } from './draft.ts'

export type SketchPart = 'heading' | 'text' | 'button' | 'image' | 'line'

const MAX_PARTS = 8
const MAX_CHARS = 20_000
const TAGS: Readonly<Record<string, SketchPart>> = {
  h1: 'heading',
  h2: 'heading',
  h3: 'heading',
  p: 'text',
  li: 'text',
  img: 'image',
  hr: 'line',
  a: 'button',
  'mj-text': 'text',
  'mj-button': 'button',
  'mj-image': 'image',
  'mj-divider': 'line',
}

export function sketchOf({ format, body }: Pick<StoredTemplate, 'format' | 'body'>): readonly SketchPart[] {
  const source = body.slice(0, MAX_CHARS)
  if (format === 'text') return textLines(source)
  const parts: SketchPart[] = []
  for (const [, name = '', attributes = ''] of source.matchAll(/<([a-z][a-z0-9-]*)([^<>]*)>/gi)) {
    const part = TAGS[name.toLowerCase()]
    // a link counts as a button if it is drawn as one
    if (part === undefined || (name.toLowerCase() === 'a' && !/background|button|btn/i.test(attributes))) continue
    parts.push(part)
    if (parts.length === MAX_PARTS) break
  }
  return parts.length === 0 ? textLines(source) : parts
}

function textLines(source: string): readonly SketchPart[] {
  return source
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, MAX_PARTS)
    .map(() => 'text')
}
