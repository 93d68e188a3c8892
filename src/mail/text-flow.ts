/**
 * Formats plain text: words in, wrapped lines out. Handles white space, line breaks, list bullets, indents and quote
 * marks, but no HTML. Each call takes linear time in the length of its argument: the depth of indents is limited, so
 * unlimited nesting cannot create unlimited lines.
 */

const WIDTH = 78
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
  #done = ''
  #line = ''
  /** The start of the current line: quote marks, indent, bullet. */
  #head = ''
  /** The current word; markup inside of a word does not end it. */
  #word = ''
  #separator = ' '
  #breaks = 0
  #bullet = ''
  #quotes = 0
  readonly #lists: List[] = []
  #deeperLists = 0

  /** Writes running text: white space (with NBSP) collapses, words wrap. */
  write(text: string): void {
    let from = -1
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i)
      const isSpace = c <= 0x20 || c === 0xa0
      if (isSpace) {
        if (from >= 0) this.#word += text.slice(from, i)
        this.#endWord()
        from = -1
      } else if (from < 0) {
        from = i
      }
    }
    if (from >= 0) this.#word += from === 0 ? text : text.slice(from)
  }

  /** Writes preformatted text: spaces and line ends stay. */
  writeAsIs(text: string): void {
    const lines = text.replace(CONTROLS, '').split('\n')
    for (const [i, line] of lines.entries()) {
      if (i > 0) this.newLine()
      this.#word += line
    }
  }

  /** Starts a new word, which the following text may extend (a full stop after a link). */
  writeWord(word: string): void {
    this.#endWord()
    this.#word = word
  }

  /** Writes an explicit line break. */
  newLine(): void {
    this.#endWord()
    this.#breaks = Math.min(this.#breaks + 1, MAX_LINE_BREAKS)
  }

  /** The next text starts on a new line, after a blank line if `lines` is 2. Text after a bullet stays on its line. */
  separate(lines: 1 | 2): void {
    this.#endWord()
    if (this.#bullet === '') this.#breaks = Math.max(this.#breaks, lines)
  }

  /** The next word belongs to the next cell of a table row. */
  nextCell(): void {
    this.#endWord()
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
    this.#endWord()
    this.#endLine()
    return this.#done.trimEnd()
  }

  /** Drops the bullet of an empty item. */
  #dropBullet(): void {
    this.#endWord()
    this.#bullet = ''
  }

  #endWord(): void {
    if (this.#word === '') return
    const word = ZERO_WIDTH.test(this.#word) ? removeZeroWidth(this.#word) : this.#word
    this.#word = ''
    if (word === '') return
    if (this.#breaks > 0) this.#startLine()
    if (this.#line === '') {
      this.#head = this.#lineHead()
      this.#line = word
    } else if (this.#head.length + this.#line.length + this.#separator.length + word.length > WIDTH) {
      this.#endLine()
      this.#head = this.#lineHead()
      this.#line = word
    } else {
      this.#line += this.#separator + word
    }
    this.#separator = ' '
  }

  #startLine(): void {
    this.#endLine()
    if (this.#done !== '') this.#done += '\n'.repeat(this.#breaks - 1)
    this.#breaks = 0
  }

  #endLine(): void {
    if (this.#line === '') return
    this.#done += `${this.#head}${this.#line}\n`
    this.#line = ''
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
