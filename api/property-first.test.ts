import { describeRoutes } from '#test/support/route-property.ts'

describeRoutes(0, 3)
