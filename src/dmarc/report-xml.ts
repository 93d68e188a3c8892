/**
 * Parses the XML of a DMARC aggregate report into small trees: one for each child of the root element, so a report of a
 * gigantic number of records is never in memory as a whole. Nothing is resolved or loaded: a document with a DTD is
 * rejected, so it can define no entities. Depth, elements and texts are limited.
 */
import { Parser } from 'htmlparser2'

export interface XmlElement {
  /** Lower case, without the namespace prefix. */
  readonly name: string
  readonly children: readonly XmlElement[]
  /** Truncated to MAX_TEXT characters, without control characters. */
  readonly text: string
}

/** A document is rejected with a reason. */
export class XmlProblem extends Error {}

const MAX_DEPTH = 10
const MAX_ELEMENTS = 1_500_000
/** Of one child of the root: real records have about thirty. */
const MAX_ELEMENTS_OF_CHILD = 1000
const MAX_TEXT = 1000

interface OpenElement {
  readonly name: string
  readonly children: XmlElement[]
  text: string
}

/** Calls `onChild` for each child of the root, in order. @throws XmlProblem, and what `onChild` throws */
export function readXml(xml: string, rootName: string, onChild: (child: XmlElement) => void): void {
  const open: OpenElement[] = []
  const left = { all: MAX_ELEMENTS, ofChild: MAX_ELEMENTS_OF_CHILD }
  let isClosed = false
  const parser = new Parser(
    {
      onprocessinginstruction: (name) => {
        if (name.startsWith('!')) throw new XmlProblem('the XML has a DTD')
      },
      onopentagname: (tag) => {
        const name = localName(tag)
        if (isClosed || (open.length === 0 && name !== rootName))
          throw new XmlProblem(`the root element is not ${rootName}`)
        if (open.length === MAX_DEPTH) throw new XmlProblem('the XML is nested too deeply')
        if (left.all-- === 0 || left.ofChild-- === 0) throw new XmlProblem('the XML has too many elements')
        open.push({ name, children: [], text: '' })
      },
      ontext: (text) => {
        const element = open.at(-1)
        if (element !== undefined) element.text = (element.text + text).slice(0, MAX_TEXT)
      },
      onclosetag: (_tag, isImplied) => {
        const closed = open.pop()
        if (closed === undefined) return
        // htmlparser2 closes what is open at the end of the text; it also reports <a/> as implied
        if (open.length === 0 && isImplied) throw new XmlProblem('the XML is truncated')
        if (open.length === 0) isClosed = true
        const element = { ...closed, text: cleanText(closed.text) }
        if (open.length > 1) open.at(-1)?.children.push(element)
        if (open.length !== 1) return
        left.ofChild = MAX_ELEMENTS_OF_CHILD
        onChild(element)
      },
      onerror: (error) => {
        throw error
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.write(xml)
  parser.end()
  if (!isClosed) throw new XmlProblem(`there is no ${rootName} element`)
}

/** The first child with that name. */
export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((child) => child.name === name)
}

/** The text of the first child with that name, trimmed; '' if it is missing. */
export function textOf(element: XmlElement | undefined, name: string): string {
  return childOf(element, name)?.text ?? ''
}

function localName(tag: string): string {
  return tag.slice(tag.indexOf(':') + 1).toLowerCase()
}

function cleanText(text: string): string {
  return text
    .trim()
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '?')
}
