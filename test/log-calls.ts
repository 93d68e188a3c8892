/**
 * Finds the calls of the log in the source: their level, message and fields. A message in a template has `…` for each
 * value. What a variable contributes to the fields is not seen.
 */
import { globSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

export interface LogCall {
  readonly file: string
  readonly level: string
  readonly messages: readonly string[]
  readonly fields: readonly string[]
}

const ROOT = new URL('..', import.meta.url).pathname
const FOLDERS = ['api', 'mta', 'worker', 'src', 'bin']
const CALL = /\blog\s*\.(trace|debug|info|warn|error|fatal)\(|\blog\[([^\]]*)\]\(/g
/** Literals of a message: at least two words, so that a comparison of kinds is none. */
const LITERAL = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g

export function findLogCalls(): LogCall[] {
  return FOLDERS.flatMap((folder) => globSync(`${ROOT}${folder}/**/*.ts`))
    .filter((file) => !/\.test(-data)?\.ts$/.test(file))
    .toSorted()
    .flatMap((file) => callsIn(relative(ROOT, file), readFileSync(file, 'utf8')))
}

function callsIn(file: string, text: string): LogCall[] {
  return [...text.matchAll(CALL)].map((match) => {
    const inside = insideOf(text, match.index + match[0].length)
    const fields = inside.trimStart().startsWith('{') ? insideOf(inside, inside.indexOf('{') + 1) : ''
    const rest = inside.slice(fields === '' ? 0 : inside.indexOf('{') + fields.length + 2)
    return { file, level: match[1] ?? 'by case', messages: messagesIn(rest), fields: fieldsIn(fields) }
  })
}

/** Up to the bracket that closes what was opened before `start`. */
function insideOf(text: string, start: number): string {
  let depth = 1
  for (let i = start; i < text.length; i++) {
    const char = text[i] ?? ''
    if ('([{'.includes(char)) depth++
    if (')]}'.includes(char) && --depth === 0) return text.slice(start, i)
  }
  return text.slice(start)
}

function messagesIn(text: string): string[] {
  return [...text.matchAll(LITERAL)]
    .map(([, single, double, template]) => (single ?? double ?? template ?? '').replaceAll(/\$\{[^}]*\}/g, '…'))
    .filter((message) => /[a-z]/.test(message))
}

function fieldsIn(text: string): string[] {
  const flat = text.replaceAll(/\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\}|'[^']*'|`[^`]*`/g, '')
  return flat
    .split(',')
    .map((part) => /^\s*(\w+)\s*(?::|$)/.exec(part)?.[1] ?? '')
    .filter((name) => name !== '')
}
