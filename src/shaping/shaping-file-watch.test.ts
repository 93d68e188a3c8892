import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { parsedShaping, shapingFileOf } from './shaping-file-watch.ts'

describe('the parsed shaping file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shaping-'))
  const file = join(folder, 'shaping.yaml')
  after(() => rmSync(folder, { recursive: true }))

  it('is parsed once until the file changes, and an invalid file is not kept', () => {
    const byDefault = shapingFileOf(loadConfig({}))
    assert.strictEqual(parsedShaping(byDefault), parsedShaping(byDefault))
    const valid = readFileSync(byDefault, 'utf8')
    writeFileSync(file, valid)
    const first = parsedShaping(file)
    assert.strictEqual(parsedShaping(file), first)
    writeFileSync(file, 'receivers: nonsense, and longer\n')
    assert.throws(() => parsedShaping(file), /shaping\.yaml: line 1/)
    assert.throws(() => parsedShaping(file), /shaping\.yaml: line 1/)
    writeFileSync(file, `${valid}# again\n`)
    assert.notStrictEqual(parsedShaping(file), first)
  })
})
