import { assert } from 'chai'
import { examinedPart } from './reply-pattern.ts'
import { BASE } from './shaping-file.test-data.ts'
import { checkShapingFile, MAX_PROBLEMS } from './shaping-file-parser.ts'
import { readShaping } from './shaping-file.ts'

/** The thread that parses is not the one that waits: it must run other work meanwhile. */
async function countTurns(work: Promise<unknown>): Promise<number> {
  let turns = 0
  const timer = setInterval(() => turns++, 5)
  await work.finally(() => clearInterval(timer))
  return turns
}

const ERRORS = ['}', '"', '{}\n', '&a ', ' a: b\n'].map((mark) => mark.repeat(Math.floor(60_000 / mark.length)))

describe('shaping files of requests', () => {
  it('are read as those of the installation are', async () => {
    const text = `${BASE}rules:\n  - {name: a, text: "too m.ny|busy", code: 421, action: suspend, for: 2h}\n`
    const [checked, read] = [await checkShapingFile(text), readShaping(text)]
    if (checked.kind !== 'valid' || read.kind !== 'shaping') assert.fail(JSON.stringify([checked, read]))
    assert.deepEqual(JSON.stringify(checked.shaping), JSON.stringify(read.shaping))
    const [rule] = checked.shaping.rules
    assert.isTrue(rule?.text?.matches(examinedPart('try later, too many')))
  })
  it('that are wrong are refused with every line', async () => {
    const checked = await checkShapingFile(BASE.replaceAll(/connections: \d+/g, 'connections: 0'))
    if (checked.kind !== 'wrong') assert.fail('it is valid')
    assert.ok(checked.problems.length > 1 && checked.problems.every(({ line }) => line > 0))
  })
  it('of many errors, several at a time, are refused beside other work', async function () {
    this.timeout(60_000)
    const all = Promise.all(ERRORS.map(checkShapingFile))
    assert.isAbove(await countTurns(all), 20)
    for (const checked of await all) {
      if (checked.kind !== 'wrong') assert.fail('it is valid')
      assert.isAbove(checked.problemCount, 1000)
      assert.lengthOf(checked.problems, MAX_PROBLEMS)
    }
  })
})
