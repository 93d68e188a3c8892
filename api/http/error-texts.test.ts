/**
 * Every error says what to do next: each text of a refusal has a sentence with an instruction, or ends with a reason
 * that is computed. The names of endpoints in texts exist.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { ROUTES } from '#api/table.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The verbs of instructions. */
const INSTRUCTION = new RegExp(
  `\\b(?:${[
    'Activate Add Ask Block Call Cancel Change Check Correct Create Delete Enable Get Give List Open Publish Remove',
    'Repeat Resume Search See Send Set Sign Split Start Stop Subscribe Try Use Verify Wait publish repeat report',
  ]
    .join(' ')
    .replaceAll(' ', '|')})\\b`,
)
/** The reason in it is computed: it says what to do itself. */
const ENDS_WITH_REASON = /\$\{[^}]*(?:reason|revocation|what|problem)[^}]*\}\.?$/
const TEXT = /refuse\(\s*'([A-Z_]+)',\s*((?:(?:'(?:[^'\\]|\\.)*'|"[^"]*"|`[^`]*`)(?:\s*\+\s*)?)+)/g

function textsOf(file: string): readonly { readonly code: string; readonly text: string }[] {
  return [...readFileSync(join(ROOT, file), 'utf8').matchAll(TEXT)].map(([, code = '', literals = '']) => ({
    code,
    text: [...literals.matchAll(/'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`/g)].map(([, a, b, c]) => a ?? b ?? c).join(''),
  }))
}

const FILES = globSync('{api,src}/**/*.ts', { cwd: ROOT }).filter((file) => !/\.test(?:-data)?\.ts$/.test(file))
const TEXTS = FILES.flatMap((file) => textsOf(file).map((row) => ({ file, ...row })))

describe('the texts of errors', () => {
  it('say what to do next', () => {
    assert.isAbove(TEXTS.length, 80)
    const silent = TEXTS.filter(({ text }) => !INSTRUCTION.test(text) && !ENDS_WITH_REASON.test(text))
    assert.deepEqual(
      silent.map(({ file, code, text }) => `${file}: ${code} ${text}`),
      [],
    )
  })
  it('name endpoints that exist', () => {
    const names = new Set(ROUTES.map(({ name }) => name))
    const named = TEXTS.flatMap(({ file, text }) =>
      [...text.matchAll(/\b(?:with|call) ([a-z]+(?:-[a-z]+)+)/g)].map(([, name = '']) => ({ file, name })),
    )
    assert.isAbove(named.length, 15)
    assert.deepEqual(
      named.filter(({ name }) => !names.has(name)),
      [],
    )
  })
})
