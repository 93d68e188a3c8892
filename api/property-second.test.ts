import { describeShare } from '#test/support/route-property.ts'

describeShare(1, 3)
