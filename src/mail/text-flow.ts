/**
 * Formats plain text: words in, wrapped lines out. Handles white space, line breaks, list bullets, indents and quote
 * marks, but no HTML. Words are written in place, each behind one unit that becomes the space or line end before it.
 * Each call takes linear time in the length of its argument: the depth of indents is limited, so unlimited nesting
 * cannot create unlimited lines.
 */

import { isSpace, TextBuffer } from './text-buffer.ts'

const WIDTH = 78
const SOFT_HYPHEN = 0xad
/** All other characters of `ZERO_WIDTH` are beyond this. */
const LATIN1_END = 0xff
const MAX_LIST_DEPTH = 8
const MAX_QUOTE_DEPTH = 4
/** At most two blank lines. */
const MAX_LINE_BREAKS = 3
/**
 * Zero-width characters; senders pad preheaders with hundreds of them. Joiners (U+200C, U+200D) have a meaning only
 * inside of a word.
 */
const ZERO_WIDTH = /[\u034f\u00ad\u200b-\u200d\u2060\ufeff]/
const ZERO_WIDTH_REMOVED = /[\u034f\u00ad\u200b\u2060\ufeff]/g
/** All controls except line feed and tab. */
const CONTROLS = /[\p{Cc}--[\n\t]]/gv
const JOINERS = '\u200c\u200d'

interface List {
  readonly isOrdered: boolean
  count: number
  readonly indent: string
  body: string
}

export class TextFlow {
  readonly #out = new TextBuffer()
  /** Where the unit before the current word is; markup inside of a word does not end it. -1: no word. */
  #wordAt = -1
  #bitsBefore = 0
  /** Units of the current line, with quote marks, indent and bullet; 0: no line. */
  #column = 0
  #separator = ' '
  #breaks = 0
  #bullet = ''
  #quotes = 0
  readonly #lists: List[] = []
  #deeperLists = 0

  /** Writes a range of running text: white space (with NBSP) collapses, words wrap. */
  write(text: string, from: number, to: number): void {
    for (let i = from; i < to;) {
      if (isSpace(text.charCodeAt(i))) {
        if (this.#wordAt >= 0) this.#endWord()
        i++
      } else {
        if (this.#wordAt < 0) this.#startWord()
        i = this.#out.appendWord(text, i, to)
      }
    }
  }

  /** Writes preformatted text: spaces and line ends stay. */
  writeAsIs(text: string): void {
    const lines = text.replace(CONTROLS, '').split('\n')
    for (const [i, line] of lines.entries()) {
      if (i > 0) this.newLine()
      if (line === '') continue
      if (this.#wordAt < 0) this.#startWord()
      this.#out.append(line)
    }
  }

  /** Starts a new word, which the following text may extend (a full stop after a link). */
  writeWord(word: string): void {
    if (this.#wordAt >= 0) this.#endWord()
    this.#startWord()
    this.#out.append(word)
  }

  /** Writes an explicit line break. */
  newLine(): void {
    if (this.#wordAt >= 0) this.#endWord()
    this.#breaks = Math.min(this.#breaks + 1, MAX_LINE_BREAKS)
  }

  /** The next text starts on a new line, after a blank line if `lines` is 2. Text after a bullet stays on its line. */
  separate(lines: 1 | 2): void {
    if (this.#wordAt >= 0) this.#endWord()
    if (this.#bullet === '') this.#breaks = Math.max(this.#breaks, lines)
  }

  /** The next word belongs to the next cell of a table row. */
  nextCell(): void {
    if (this.#wordAt >= 0) this.#endWord()
    this.#separator = '  '
  }

  openList(isOrdered: boolean): void {
    this.separate(this.#lists.length > 0 ? 1 : 2)
    if (this.#lists.length === MAX_LIST_DEPTH) {
      this.#deeperLists++
      return
    }
    const indent = this.#lists.at(-1)?.body ?? ''
    this.#lists.push({ isOrdered, count: 0, indent, body: indent })
  }

  closeList(): void {
    this.#dropBullet()
    if (this.#deeperLists > 0) this.#deeperLists--
    else this.#lists.pop()
    this.separate(this.#lists.length > 0 ? 1 : 2)
  }

  openItem(): void {
    this.#dropBullet()
    this.separate(1)
    const list = this.#lists.at(-1)
    this.#bullet = list?.isOrdered ? `${++list.count}. ` : '- '
    if (list) list.body = list.indent + ' '.repeat(this.#bullet.length)
  }

  openQuote(): void {
    this.separate(2)
    this.#quotes++
  }

  closeQuote(): void {
    this.separate(2)
    this.#quotes = Math.max(0, this.#quotes - 1)
  }

  /** Returns the text: LF between lines, no line end after the last. */
  finish(): string {
    if (this.#wordAt >= 0) this.#endWord()
    const text = this.#out.textFrom(1).trimEnd() // the first unit stands before the first word
    this.#out.release()
    return text
  }

  /** Drops the bullet of an empty item. */
  #dropBullet(): void {
    if (this.#wordAt >= 0) this.#endWord()
    this.#bullet = ''
  }

  #startWord(): void {
    this.#wordAt = this.#out.length
    this.#bitsBefore = this.#out.bits
    this.#out.bits = 0
    this.#out.append(' ')
  }

  #endWord(): void {
    const [out, at] = [this.#out, this.#wordAt]
    this.#wordAt = -1
    const mayHaveZeroWidth = out.bits > LATIN1_END || (out.bits & SOFT_HYPHEN) === SOFT_HYPHEN
    const isGone = mayHaveZeroWidth && !this.#cleanWord(at)
    out.bits |= this.#bitsBefore
    if (isGone) return
    const length = out.length - at - 1
    if (this.#breaks === 0 && this.#column > 0) {
      const column = this.#column + this.#separator.length + length
      if (column <= WIDTH) {
        if (this.#separator !== ' ') out.replaceUnit(at, this.#separator)
        this.#column = column
        this.#separator = ' '
        return
      }
    }
    const head = this.#lineHead()
    // a line break ends the line; further ones are blank lines
    const lineEnds = at === 0 ? ' ' : '\n'.repeat(Math.max(1, this.#breaks))
    out.replaceUnit(at, lineEnds + head)
    this.#breaks = 0
    this.#column = head.length + length
    this.#separator = ' '
  }

  /** Removes zero-width characters of the word that begins behind `at`; false: there is nothing else. */
  #cleanWord(at: number): boolean {
    const out = this.#out
    const word = out.textFrom(at + 1)
    if (!ZERO_WIDTH.test(word)) return true
    const rest = removeZeroWidth(word)
    out.length = at
    out.bits = 0
    if (rest === '') return false
    out.append(` ${rest}`)
    return true
  }

  #lineHead(): string {
    const list = this.#lists.at(-1)
    const indent = this.#bullet === '' ? (list?.body ?? '') : (list?.indent ?? '') + this.#bullet
    this.#bullet = ''
    return '> '.repeat(Math.min(this.#quotes, MAX_QUOTE_DEPTH)) + indent
  }
}

function removeZeroWidth(word: string): string {
  const rest = word.replace(ZERO_WIDTH_REMOVED, '')
  let start = 0
  let end = rest.length
  while (start < end && JOINERS.includes(rest.charAt(start))) start++
  while (end > start && JOINERS.includes(rest.charAt(end - 1))) end--
  return rest.slice(start, end)
}
