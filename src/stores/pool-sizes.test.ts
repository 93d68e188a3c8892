import { assert } from 'chai'
import { equalSizes, poolSizes } from './pool-sizes.ts'

describe('the sizes of the pools', () => {
  type Sizes = readonly [urgent: number, hot: number, plain: number]
  const CASES: readonly [cores: number, isSmall: boolean, sizes: Sizes][] = [
    [1, false, [2, 4, 8]],
    [2, false, [2, 4, 8]],
    [3, false, [4, 8, 8]],
    [32, false, [4, 8, 8]],
    [2, true, [2, 4, 4]],
    [8, true, [2, 4, 4]],
  ]
  for (const [cores, isSmall, [urgent, hot, plain]] of CASES)
    it(`${cores} cores${isSmall ? ', little memory' : ''}`, () => {
      assert.deepEqual(poolSizes(cores, isSmall), { urgent, hot, plain })
    })

  it('one connection for each pool, if a caller asks for one', () => {
    assert.deepEqual(equalSizes(1), { urgent: 1, hot: 1, plain: 1 })
  })
})
