import { describeShare } from '#test/support/route-property.ts'

describeShare(2, 3)
