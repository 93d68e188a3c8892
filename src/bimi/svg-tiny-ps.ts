/**
 * Validates a logo as SVG Tiny Portable/Secure (draft-svg-tiny-ps-abrotman), the only form that BIMI allows. The file
 * is hostile input: it is parsed, never rendered. A document with a DTD is rejected, so it can define no entities;
 * size, depth and the number of elements are limited. Pure.
 */
import { XMLValidator } from 'fast-xml-parser'
import { Parser } from 'htmlparser2'

/** Receivers refuse larger ones (BIMI implementation guide). */
export const MAX_LOGO_BYTES = 32 * 1024
const MAX_DEPTH = 50
const MAX_ELEMENTS = 5000
const MAX_TITLE = 64

/** Of SVG Tiny 1.2, without scripts, animation, interaction, links, multimedia, raster images and style sheets. */
const ELEMENTS = new Set(
  `svg title desc metadata g defs use switch path rect circle ellipse line polyline polygon solidColor linearGradient
  radialGradient stop text tspan textArea tbreak font font-face font-face-src font-face-uri glyph missing-glyph
  hkern`.split(/\s+/),
)
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg'

class SvgProblem extends Error {}

interface Seen {
  elements: number
  readonly path: string[]
  title: string | null
}

/** Returns what is wrong, as the end of a sentence that begins with "the logo"; null if nothing is. */
export function findSvgProblem(bytes: Buffer): string | null {
  if (bytes.length > MAX_LOGO_BYTES) return `has more than ${MAX_LOGO_BYTES / 1024} KB`
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  if (text.includes('\uFFFD') || text.includes('\0')) return 'is not UTF-8 text'
  try {
    inspect(text)
  } catch (error) {
    if (error instanceof SvgProblem) return error.message
    throw error
  }
  const form = XMLValidator.validate(text)
  return form === true ? null : `is not well-formed XML (line ${form.err.line})`
}

function inspect(text: string): void {
  const seen: Seen = { elements: 0, path: [], title: null }
  const parser = new Parser(
    {
      onprocessinginstruction: (name) => {
        if (name.startsWith('!')) throw new SvgProblem('has a document type or entities, which are not allowed')
        if (name.toLowerCase() !== '?xml') throw new SvgProblem(`has the instruction <${name.slice(0, 40)}>`)
      },
      onopentag: (name, attributes) => {
        openElement(seen, name, attributes)
      },
      ontext: (part) => {
        if (seen.title !== null && seen.path.join('/') === 'svg/title') seen.title += part
      },
      onclosetag: () => {
        seen.path.pop()
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(text)
  if (seen.elements === 0) throw new SvgProblem('is not an SVG file')
  const title = seen.title?.trim() ?? ''
  if (title === '') throw new SvgProblem('has no <title> in <svg>: add one with the name of your organisation')
  if (title.length > MAX_TITLE) throw new SvgProblem(`has a <title> of more than ${MAX_TITLE} characters`)
}

type Attributes = Readonly<Record<string, string>>

function openElement(seen: Seen, tag: string, attributes: Attributes): void {
  const name = tag.startsWith('svg:') ? tag.slice(4) : tag
  if (seen.path.length === MAX_DEPTH || ++seen.elements > MAX_ELEMENTS)
    throw new SvgProblem('is nested too deeply, or has too many elements')
  if (seen.path.length === 0) {
    if (name !== 'svg' || seen.elements > 1) throw new SvgProblem('is not an SVG file')
    checkRoot(attributes)
  }
  const isMetadata = seen.path.includes('metadata')
  if (!isMetadata && !ELEMENTS.has(name))
    throw new SvgProblem(`has the element <${name.slice(0, 40)}>, which SVG Tiny PS does not allow`)
  if (name === 'svg' && seen.path.length > 0) throw new SvgProblem('has an <svg> inside another')
  if (name === 'title' && seen.path.length === 1) seen.title ??= ''
  for (const [attribute, value] of Object.entries(attributes)) checkAttribute(attribute, value)
  seen.path.push(name)
}

function checkRoot(attributes: Attributes): void {
  const namespace = attributes['xmlns'] ?? attributes['xmlns:svg']
  if (namespace !== SVG_NAMESPACE) throw new SvgProblem(`lacks xmlns="${SVG_NAMESPACE}"`)
  if (attributes['baseProfile'] !== 'tiny-ps') throw new SvgProblem('is not SVG Tiny PS: set baseProfile="tiny-ps"')
  if (attributes['version'] !== '1.2') throw new SvgProblem('is not SVG Tiny PS: set version="1.2"')
  if ('x' in attributes || 'y' in attributes) throw new SvgProblem('has x or y at <svg>: remove them')
  const box = (attributes['viewBox'] ?? '').trim().split(/[\s,]+/)
  const [, , width, height] = box.map(Number)
  if (box.length !== 4 || width === undefined || height === undefined || !(width > 0) || !(height > 0))
    throw new SvgProblem('has no valid viewBox')
  if (Math.abs(width - height) > 0.01 * width) throw new SvgProblem('is not square: receivers show it in a circle')
}

function checkAttribute(name: string, value: string): void {
  const local = name.slice(name.indexOf(':') + 1)
  if (/^on/i.test(local)) throw new SvgProblem(`has the event handler ${local.slice(0, 40)}`)
  if (local === 'style') throw new SvgProblem('has style="…": use attributes such as fill instead')
  if (name === 'xml:base') throw new SvgProblem('has xml:base')
  if (local === 'href' && !/^\s*#/.test(value))
    throw new SvgProblem(`refers to ${value.slice(0, 60)}: only references within the file are allowed`)
  // a namespace is a name, not a reference
  if (name.startsWith('xmlns')) return
  const target = /url\(\s*['"]?\s*([^)'"]*)/i.exec(value)?.[1]
  if (target !== undefined && !target.startsWith('#'))
    throw new SvgProblem(`refers to ${target.slice(0, 60)}: only references within the file are allowed`)
  if (/^\s*(?:javascript|data|https?|file|vbscript):/i.test(value))
    throw new SvgProblem(`refers to ${value.trim().slice(0, 60)}: only references within the file are allowed`)
}
