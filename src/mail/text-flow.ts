/**
 * Sets plain text: words in, wrapped lines out. Knows white space, line breaks, list bullets,
 * indents and quote marks; knows nothing of HTML. Every call costs what its argument is long:
 * indents have a deepest level, so nesting without end cannot make lines without end.
 */

const WIDTH = 78
const DEEPEST_LIST = 8
const DEEPEST_QUOTE = 4
/** Two blank lines at most, whatever the source piles up. */
const MOST_BREAKS = 3
/** Characters that take no room; senders pad preheaders with hundreds of them. Joiners (U+200C, U+200D) matter inside of a word only. */
const NO_WIDTH = /[\u034f\u00ad\u200b-\u200d\u2060\ufeff]/
const NO_WIDTH_DROPPED = /[\u034f\u00ad\u200b\u2060\ufeff]/g
/** All but line feed and tab. */
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
  /** What stands before the text of the current line: quote marks, indent, bullet. */
  #head = ''
  /** The word being put together; markup inside of a word does not end it. */
  #word = ''
  #separator = ' '
  #breaks = 0
  #bullet = ''
  #quotes = 0
  readonly #lists: List[] = []
  #deeperLists = 0

  /** Running text: white space (NBSP too) collapses, words wrap. */
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

  /** Preformatted text: spaces and line ends stay. */
  writeAsIs(text: string): void {
    const lines = text.replace(CONTROLS, '').split('\n')
    for (const [i, line] of lines.entries()) {
      if (i > 0) this.newLine()
      this.#word += line
    }
  }

  /** A word of its own that following text may still stick to (a full stop after a link). */
  writeWord(word: string): void {
    this.#endWord()
    this.#word = word
  }

  /** A line end where the author wrote one. */
  newLine(): void {
    this.#endWord()
    this.#breaks = Math.min(this.#breaks + 1, MOST_BREAKS)
  }

  /** What follows starts on a line of its own, after a blank line if `lines` is 2. A bullet keeps its text beside it. */
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
    if (this.#lists.length === DEEPEST_LIST) {
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

  /** All of the text, LF between lines, no line end after the last. */
  finish(): string {
    this.#endWord()
    this.#endLine()
    return this.#done.trimEnd()
  }

  /** The bullet of an item that had nothing in it. */
  #dropBullet(): void {
    this.#endWord()
    this.#bullet = ''
  }

  #endWord(): void {
    if (this.#word === '') return
    const word = NO_WIDTH.test(this.#word) ? withoutNoWidth(this.#word) : this.#word
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
    return '> '.repeat(Math.min(this.#quotes, DEEPEST_QUOTE)) + indent
  }
}

function withoutNoWidth(word: string): string {
  const left = word.replace(NO_WIDTH_DROPPED, '')
  let start = 0
  let end = left.length
  while (start < end && JOINERS.includes(left.charAt(start))) start++
  while (end > start && JOINERS.includes(left.charAt(end - 1))) end--
  return left.slice(start, end)
}
