/**
 * Every error of the command line says what to do next. The compiler requires the second text of `UserError` and
 * `CommandCall.fail`; this checks that it is an instruction. Wrong usage (`UsageError`) is printed with the usage.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { explained, UserError } from './user-error.ts'

const ROOT = join(import.meta.dirname, '../..')
const INSTRUCTION = new RegExp(
  `\\b(?:${[
    'Add Allow Ask Block Change Check Choose Copy Correct Create Deactivate Give If Install Invite Make Name Publish',
    'Redirect Remove Repeat Restore Run Select See Send Set Start Stop Try Use Wait Write',
  ]
    .join(' ')
    .replaceAll(' ', '|')})\\b`,
)
/** Texts from elsewhere: refusals of the API, a plan of a restore, stores that are not suitable. */
const ELSEWHERE = ['bin/backup/restore.ts', 'bin/cli/workspace-api.ts', 'bin/commands/account.ts']
const ELSEWHERE_AT_START = [
  'bin/commands/provisioner-process.ts',
  'bin/commands/provisioner.ts',
  'bin/commands/role.ts',
]

const FILES = globSync('bin/**/*.ts', { cwd: ROOT })
  .filter((file) => !file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

/** The arguments of each call, as source. */
function argumentsIn(text: string): string[] {
  return [...text.matchAll(/(?:new UserError|call\.fail)\(/g)].map(({ 0: call, index }) => {
    const from = index + call.length
    return text.slice(from, endOfArguments(text, from))
  })
}

function endOfArguments(text: string, from: number): number {
  const literal = /'(?:[^'\\]|\\.)*'|"[^"]*"|`(?:[^`\\]|\\.)*`|[()]/g
  literal.lastIndex = from
  let depth = 1
  for (let match = literal.exec(text); match !== null; match = literal.exec(text)) {
    if (match[0] === '(') depth++
    if (match[0] === ')' && --depth === 0) return match.index
  }
  return text.length
}

/** The last argument: a literal, or a constant of the file or a function of it. */
function nextOf(argument: string, text: string): string {
  const name = /([A-Z][A-Z_]+|[a-z]\w+)(?:\[\w+\]|\(\w+\))?,?\s*$/.exec(argument)?.[1]
  if (name === undefined) return argument
  const at = text.search(new RegExp(`(?:const|function) ${name}\\b`))
  return at < 0 ? '' : text.slice(at, at + 1500)
}

describe('errors of the command line', () => {
  it('say what to do next', () => {
    const calls = FILES.flatMap(({ file, text }) =>
      argumentsIn(text).map((argument) => ({ file, argument, next: nextOf(argument, text) })),
    )
    assert.isAbove(calls.length, 100)
    assert.deepEqual(
      calls.filter(({ next }) => !INSTRUCTION.test(next)).map(({ file, argument }) => `${file}: ${argument.trim()}`),
      [],
    )
  })
  it('repeat texts from elsewhere only where these say it', () => {
    const repeating = FILES.filter(({ text }) => text.includes('UserError.of(')).map(({ file }) => file)
    assert.deepEqual(repeating.toSorted(), [...ELSEWHERE, ...ELSEWHERE_AT_START])
  })
  it('are one text, of which the instruction may be a line of its own', () => {
    assert.strictEqual(new UserError('It failed.', 'Repeat it.').message, 'It failed. Repeat it.')
    assert.strictEqual(explained('Last lines:\nA\n', 'Correct it.'), 'Last lines:\nA\nCorrect it.')
    assert.strictEqual(UserError.of('The API refuses it.').message, 'The API refuses it.')
  })
})
