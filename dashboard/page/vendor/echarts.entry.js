// The parts of Apache ECharts that the page uses; README.md of this folder has the command that makes echarts.js of them.
import {use} from "echarts/core";
import {CustomChart, LineChart, ParallelChart, ScatterChart} from "echarts/charts";
import {GridComponent, LegendScrollComponent, ParallelComponent, TitleComponent, TooltipComponent} from "echarts/components";
import {CanvasRenderer, SVGRenderer} from "echarts/renderers";

use([CustomChart, LineChart, ParallelChart, ScatterChart, GridComponent, LegendScrollComponent, ParallelComponent, TitleComponent, TooltipComponent,
  CanvasRenderer, SVGRenderer]);
export {init} from "echarts/core";
