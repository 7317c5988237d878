import { useData, useRoute } from "vitepress";
import theme from "vitepress/theme-without-fonts";
import { nextTick, onMounted, watch } from "vue";
import { drawDiagrams } from "./diagrams.ts";
import "./style.css";

export default {
  extends: theme,
  setup() {
    const { isDark } = useData();
    const route = useRoute();
    const draw = () => nextTick(() => drawDiagrams(isDark.value));
    onMounted(draw);
    watch([isDark, () => route.path], draw);
  },
};
